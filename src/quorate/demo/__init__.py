"""The demonstration: a real campaign over real texts and real people's answers, killed on the way and resumed."""
