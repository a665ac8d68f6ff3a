"""ReFrame: is one of the idle nodes slow?

reframe -c network_test.py -r                          # at least four idle nodes of each partition
reframe -c network_test.py -r -S num_tasks=64          # 64 of them
reframe -c network_test.py -r -S modes=all

Sanity asks whether the measurement could be judged. A finding is a failure of performance, not of sanity: ReFrame logs no
figures of a check that is not sane, and would lose those of the night that matters. The findings themselves become the
description of the check, which ReFrame prints below a failure and logs. Runs with ReFrame 4.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable


@rfm.simple_test
class PairsOfNodes(rfm.RunOnlyRegressionTest):
    descr = 'Every pair of the nodes: is one of them slow?'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    tags = {'network', 'production'}

    # All idle nodes, but not fewer than can be judged.
    num_tasks = -4
    num_tasks_per_node = 1
    time_limit = '30m'

    # What is measured, as network_test's --type, --geometric and --schedule take it.
    modes = variable(str, value='one_to_one')
    lengths = variable(str, value='1:4M:2')
    schedule = variable(str, value='disjoint')

    executable = 'network_test'
    keep_files = ['night*', 'report.html']
    # Ratios need no number of a site's own.
    reference = {'*': {'findings': (0, None, 0, '1'), 'worst_ratio': (1.0, None, 0.1, 'ratio')}}

    @run_before('run')
    def measure(self):
        self.executable_opts = ['-t', self.modes, '--geometric', self.lengths, '--schedule', self.schedule,
                                '--time-limit', '25m', '-f', 'night']
        # `diagnose` ends with 1 where something is slow, which is an answer.
        self.postrun_cmds = ['network_analyze diagnose night*_median.nc --json night.json || true',
                             'network_analyze report night*_median.nc -o report.html || true']

    def verdict(self):
        with open(os.path.join(self.stagedir, 'night.json')) as file:
            return json.load(file)

    @sanity_function
    def could_be_judged(self):
        if not os.path.exists(os.path.join(self.stagedir, 'night.json')):
            return sn.assert_true(False, msg='no verdict: the output says why')
        verdict = self.verdict()
        if verdict['findings']:
            self.descr = '; '.join(finding['explanation'] for finding in verdict['findings'])
        reasons = '; '.join(verdict.get('invalid', []))
        return sn.assert_ne(verdict['verdict'], 'invalid', msg=f'cannot be judged: {reasons}')

    @performance_function('1')
    def findings(self):
        return len(self.verdict()['findings'])

    @performance_function('ratio')
    def worst_ratio(self):
        # Where exchanges fail there is no ratio: any number beyond the reference.
        return max((finding['ratio'] or 1e6 for finding in self.verdict()['findings']), default=1.0)

    @performance_function('1')
    def hosts(self):
        return self.verdict()['run']['hosts']

    @performance_function('ratio')
    def noise(self):
        return self.verdict()['run']['noise']

    @performance_function('ratio')
    def measured(self):
        return self.verdict()['run']['measured']
