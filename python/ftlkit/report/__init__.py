"""What is drawn from results: the report's page, and the words and tables that the command line shows too.

Nothing is imported here: the page's drawing libraries take long to load, and only a report needs
them.
"""
