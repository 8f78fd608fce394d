"""unittests.py MODULE: runs one of CPython's own test modules; a line for each test that says how it ended."""
import sys
import traceback
import unittest

from test import support
from test.support import os_helper


class Outcomes(unittest.TestResult):
    """What became of each test; one of which a part fails has failed."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def note(self, test, outcome, why=''):
        self.outcomes.setdefault(test.id(), (outcome, why))

    def addSuccess(self, test):
        self.note(test, 'ok')

    def addSkip(self, test, reason):
        self.note(test, 'skipped', reason)

    def addExpectedFailure(self, test, err):
        self.note(test, 'expected failure')

    def addUnexpectedSuccess(self, test):
        self.note(test, 'unexpected success')

    def fail(self, test, err, where=None):
        self.note(test, 'failed', repr(err[1]))
        print(f'--- {(where or test).id()}', file=sys.stderr)
        traceback.print_exception(*err, file=sys.stderr)

    def addFailure(self, test, err):
        self.fail(test, err)

    def addError(self, test, err):
        self.fail(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.fail(test, err, subtest)


def tests_of(suite):
    """All but those that wait for ever where a host has the device but nobody at its other end."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield unittest.TestSuite(tests_of(test))
        elif 'VSOCK' not in test.id():
            yield test


def main():
    name = sys.argv[1]
    support.use_resources = ['subprocess']
    support.verbose = False
    outcomes = Outcomes()
    with os_helper.temp_cwd('work', quiet=False):
        unittest.TestSuite(tests_of(unittest.defaultTestLoader.loadTestsFromName(f'test.{name}'))).run(outcomes)
    for test, (outcome, why) in sorted(outcomes.outcomes.items()):
        print(f'{test} {outcome}: {why}' if why else f'{test} {outcome}')


main()
