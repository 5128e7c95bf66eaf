import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../../test/setup/ports.ts'
import { exportOf, folder, session, started, until } from '../fixtures/hosts.ts'

const program = 'otelcol'
const long = process.env['JACKFIELD_LONG'] === '1'
const found = long && spawnSync(program, ['--version']).status === 0
const without = long
  ? `needs the OpenTelemetry Collector (${program}) on the path, with its otlp receiver and debug exporter`
  : 'belongs to the long run (JACKFIELD_LONG=1)'

/** A collector that writes down every span it takes. */
async function collector(): Promise<{ url: string; text: () => string }> {
  const port = await freePort()
  const file = join(folder(), 'collector.yaml')
  writeFileSync(
    file,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
      exporters: { debug: { verbosity: 'detailed' } },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
      },
    }),
  )
  const child = spawn(program, ['--config', `file:${file}`], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    child.kill()
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (chunk) => {
      text += chunk
    })
  }
  await until(() => text.includes('Everything is ready'), 'the collector listens')
  return { url: `http://127.0.0.1:${port}/v1/traces`, text: () => text }
}

describe(`an OpenTelemetry Collector${found ? '' : ` [left out: it ${without}]`}`, () => {
  it.skipIf(!found)('takes every span of the log as it was exported', { timeout: 60_000 }, async () => {
    const { url, text } = await collector()
    const host = await started({ servers: { s: session().config }, defaultVerdict: 'allow' })
    for (const text of ['one', 'two', 'Grüße 漢字']) await host.call('s__echo', { text }, { caller: 'chat' })
    await host.call('s__fail', {}, { caller: 'chat' })
    const body = await exportOf(host, 'otlp')
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ partialSuccess: {} })
    const { resourceSpans } = JSON.parse(body)
    const ids: string[] = resourceSpans[0].scopeSpans[0].spans.map(({ spanId }: { spanId: string }) => spanId)
    expect(ids.length).toBeGreaterThan(10)
    const exported = (): string[] =>
      [...text().matchAll(/^ {4}ID +: ([0-9a-f]{16})$/gm)].map(([, id = '']) => id)
    await until(() => exported().length >= ids.length, 'all spans are written down')
    expect(exported().sort()).toEqual([...ids].sort())
    expect(text()).toContain('gen_ai.tool.name: Str(fail)')
  })
})
