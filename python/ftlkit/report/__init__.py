"""What is drawn from results: the report's page, and the command line's words and tables.

Nothing is imported here: the page's drawing libraries take long to load, and only a report needs
them.
"""
