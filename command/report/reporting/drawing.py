"""Draws the plots of a page. A plot that fails becomes a sentence in its place, so that it never costs the page."""

import html
import importlib


class Drawing:
    """Calls functions of plots.py by name. `failures` has the reason of each plot that was not drawn, each once."""

    def __init__(self):
        self.failures = []
        self._plots = None
        try:
            self._plots = importlib.import_module(".plots", __package__)
            self._library = f"matplotlib {importlib.import_module('matplotlib').__version__}"
        except ModuleNotFoundError as error:
            self._library = f"{error.name} is missing"
        except Exception as error:  # an installation that does not load, whatever it raises
            self._library = f"matplotlib cannot be loaded: {type(error).__name__}: {error}"

    def svg(self, name, *arguments):
        """The plot as <svg>. PlotError: it was not drawn."""
        if self._plots is None:
            raise PlotError(self._library)
        try:
            return getattr(self._plots, name)(*arguments)
        except Exception as error:  # each version of the library has failures of its own
            raise PlotError(f"{type(error).__name__}: {error} ({self._library})") from error

    def __call__(self, name, *arguments):
        """The same for a page: a plot that was not drawn is a paragraph with the reason."""
        try:
            return self.svg(name, *arguments)
        except PlotError as error:
            reason = str(error)
            if reason not in self.failures:
                self.failures.append(reason)
            return f'<p class="absent">This plot was not drawn: {html.escape(reason)}</p>'


class PlotError(Exception):
    """The reason why a plot was not drawn."""
