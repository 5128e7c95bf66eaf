import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { proxy, type RelayedExtension } from '@jackfield/sdk/compose'
import { serveHttp } from '@jackfield/sdk/http'
import { current, requirements, results, runScenarios } from '../../../../conformance/harness.ts'
import { evaluate, type Leg, print, type Scenario, summary } from '../../../../conformance/report.ts'
import { createConformanceServer } from '../../../../conformance/server/definition.ts'

/**
 * Plays the official suite's server scenarios against the conformance server behind a proxy, for every pair of
 * revisions. `node packages/sdk/test/compose/conformance.ts [--scenario NAME]`
 */

const named = { named: 'taskId' }
const tasks: RelayedExtension = {
  id: 'io.modelcontextprotocol/tasks',
  methods: { 'tasks/get': named, 'tasks/update': named, 'tasks/cancel': named },
}

/** Scenarios of 2026-07-28 that look for what no server with sessions can say: keys of its questions, and code -32021. */
const beyondSessions: ReadonlySet<string> = new Set([
  'server-stateless',
  'input-required-result-basic-elicitation',
])

const { values } = parseArgs({ options: { scenario: { type: 'string' } } })
const revisions = ['2025-11-25', '2026-07-28'] as const
const keys = ['conformance'.repeat(4)]
const legs: Leg[] = []
let failed = 0

for (const up of revisions) {
  const upstream = serveHttp(createConformanceServer(), { keys, dangerouslyAcceptUnsentQuestions: true })
  const { url } = await upstream.listen()
  const through = await proxy(url, { connect: { revisions: [up] }, extensions: [tasks] })
  const served = serveHttp(through, {
    keys: keys.map((key) => `proxy ${key}`),
    dangerouslyAcceptUnsentQuestions: true,
  })
  const end = await served.listen()
  for (const down of revisions) {
    const folder = mkdtempSync(join(tmpdir(), 'proxy-conformance-'))
    const required = (await requirements(down)).server
    const { scenario } = values
    const which =
      scenario === undefined
        ? ['--requirements', down]
        : ['--scenario', scenario, '--spec-version', down, '--force']
    const options = { role: 'server', which, folder, verbose: false } as const
    const { output } = await runScenarios(current, ['--url', end.url], options)
    const found = results(folder)
    if (found.size === 0) console.log(output)
    const title = `${down} of a proxy that speaks ${up} upstream`
    const leg = evaluate({ suite: current.version, role: 'server', title }, required, found, scenario)
    rmSync(folder, { recursive: true, force: true })
    print(leg)
    legs.push(leg)
    const expected = ({ name }: Scenario): boolean => up < down && beyondSessions.has(name)
    failed += leg.scored.filter((one) => !one.passed && !expected(one)).length
  }
  await served.close()
  await through.close()
  await upstream.close()
}
console.log(`\n${summary(legs)}`)
process.exit(failed === 0 ? 0 : 1)
