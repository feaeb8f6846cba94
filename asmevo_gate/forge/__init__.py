"""CI jobs and merge requests: what a job compares, and what is posted on GitLab and GitHub.

Nothing is imported here, so that a run that posts nothing pays nothing.
"""
