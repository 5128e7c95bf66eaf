import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { isThere, RedisServer } from '../../packages/redis/test/support/redis-server.ts'
import { freePort } from '../setup/ports.ts'

const folder = fileURLToPath(new URL('../../deploy', import.meta.url))
const text = (file: string): string => readFileSync(join(folder, file), 'utf8')
const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
const drainMs = 5_000 + 25_000

/** Every manifest by its kind and name. */
function manifests(): Map<string, ReturnType<typeof Object>> {
  const files = readdirSync(join(folder, 'kubernetes')).filter((name) => name.endsWith('.yaml'))
  const found = files
    .filter((name) => name !== 'kustomization.yaml')
    .flatMap((name) =>
      parseAllDocuments(text(`kubernetes/${name}`)).map((document) => Object(document.toJS())),
    )
  return new Map(found.map((one) => [`${one.kind} ${one.metadata.name}`, one]))
}

function temporaryFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'jackfield-deploy-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** Starts one node; gives how to end it as an orchestrator does. */
async function start(port: number, redis: string, keys: string): Promise<() => Promise<unknown>> {
  const child = spawn(process.execPath, [join(folder, 'node/server.js')], {
    env: {
      ...process.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      REDIS_URL: redis,
      KEYS_DIR: keys,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => ended(child))
  const [printed] = await once(child.stdout, 'data')
  expect(String(printed)).toContain(`:${port}/mcp`)
  return async () => {
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
  }
}

describe.skipIf(!isThere || !hasHaproxy)('the balancer and the node of deploy', { timeout: 90_000 }, () => {
  it('serve calls of an official client, also while each node is restarted', async () => {
    const redis = await RedisServer.start()
    const keys = join(temporaryFolder(), 'keys')
    mkdirSync(keys)
    writeFileSync(join(keys, 'key-1'), 'k'.repeat(64))
    const ports = [await freePort(), await freePort(), await freePort()]
    const running = await Promise.all(ports.map((port) => start(port, redis.url, keys)))
    const entry = await freePort()
    const env = {
      ...process.env,
      BIND: `127.0.0.1:${entry}`,
      ...Object.fromEntries(ports.map((port, at) => [`NODE_${at + 1}`, `127.0.0.1:${port}`])),
    }
    const config = join(folder, 'haproxy.cfg')
    const checked = spawnSync('haproxy', ['-c', '-f', config], { env, encoding: 'utf8' })
    expect(checked.stderr + checked.stdout).not.toMatch(/warning|alert/i)
    expect(checked.status).toBe(0)
    const balancer = spawn('haproxy', ['-db', '-q', '-f', config], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    onTestFinished(() => ended(balancer))
    await vi.waitFor(
      async () => expect((await fetch(`http://127.0.0.1:${entry}/healthz/ready`)).status).toBe(200),
      { timeout: 20_000, interval: 50 },
    )

    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } })
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { ok: true } }))
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${entry}/mcp`)))
    onTestFinished(() => client.close())
    let isOver = false
    let calls = 0
    const load = async (): Promise<void> => {
      while (!isOver) {
        const name = calls++ % 2 === 0 ? 'refund' : 'look'
        const { content } = await client.callTool({ name, arguments: { order: 'A1' } })
        expect(JSON.stringify(content)).toContain(name === 'look' ? 'is packed' : 'was refunded')
        await setTimeout(20)
      }
    }
    const loaded = load()
    for (const [at, stop] of running.entries()) {
      await stop()
      await start(ports[at] ?? 0, redis.url, keys)
    }
    isOver = true
    await loaded
    expect(calls).toBeGreaterThan(3)
  })
})

describe('the files of deploy', () => {
  it('agree on nodes, ports, probes and the time to drain in compose.yaml', () => {
    const { services } = parse(text('compose.yaml'), { merge: true })
    const haproxy = text('haproxy.cfg')
    const named = Object.entries(services['haproxy'].environment).filter(([name]) => name.startsWith('NODE_'))
    expect(named).toHaveLength(3)
    for (const [name, address] of named) {
      expect(haproxy).toContain(`"\${${name}}"`)
      const [host = '', port] = String(address).split(':')
      const { environment, stop_grace_period, volumes } = services[host]
      expect(environment.PORT).toBe(port)
      expect(volumes).toContainEqual(expect.stringContaining(`:${environment.KEYS_DIR}:ro`))
      expect(Number.parseInt(stop_grace_period, 10) * 1000).toBeGreaterThan(drainMs)
    }
    const [published] = services['haproxy'].ports
    expect(published).toMatch(/^127\.0\.0\.1:/)
    expect(services['haproxy'].environment.BIND).toBe(`:${String(published).split(':').at(-1)}`)
  })

  it('agree in the manifests', () => {
    const all = manifests()
    const { spec } = all.get('Deployment mcp-node')
    const pod = spec.template.spec
    const [container] = pod.containers
    const labels = spec.template.metadata.labels
    expect(spec.selector.matchLabels).toEqual(labels)
    expect(all.get('Service mcp-node').spec.selector).toEqual(labels)
    expect(all.get('Service mcp-node').spec).not.toHaveProperty('sessionAffinity')
    expect(all.get('PodDisruptionBudget mcp-node').spec.selector.matchLabels).toEqual(labels)
    expect(all.get('NetworkPolicy mcp-node').spec.podSelector.matchLabels).toEqual(labels)
    const { scaleTargetRef, minReplicas } = all.get('HorizontalPodAutoscaler mcp-node').spec
    expect([scaleTargetRef.kind, scaleTargetRef.name]).toEqual(['Deployment', 'mcp-node'])
    expect(minReplicas).toBeGreaterThan(all.get('PodDisruptionBudget mcp-node').spec.maxUnavailable)

    const env = Object.fromEntries(
      container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    const [{ name: port, containerPort }] = container.ports
    expect(env.PORT).toBe(String(containerPort))
    expect(all.get('Service mcp-node').spec.ports[0].targetPort).toBe(port)
    expect(container.readinessProbe.httpGet).toEqual({ path: '/healthz/ready', port })
    expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz/live', port })
    expect(text('node/server.js')).toContain("health: '/healthz'")
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(drainMs)
    expect(container.volumeMounts[0].mountPath).toBe(env.KEYS_DIR)
    const { secretGenerator } = parse(text('kubernetes/kustomization.yaml'))
    expect(pod.volumes[0].secret.secretName).toBe(secretGenerator[0].name)

    const valkey = new URL(env.REDIS_URL)
    const store = all.get(`Service ${valkey.hostname}`).spec
    expect(store.ports[0].port).toBe(Number(valkey.port))
    const { template } = all.get(`StatefulSet ${valkey.hostname}`).spec
    expect(template.metadata.labels).toEqual(store.selector)
    expect(template.spec.containers[0].args.join(' ')).toContain('--maxmemory-policy noeviction')
  })

  it('name every manifest in the kustomization', () => {
    const { resources } = parse(text('kubernetes/kustomization.yaml'))
    const files = readdirSync(join(folder, 'kubernetes')).filter((name) => name.endsWith('.yaml'))
    expect([...resources, 'kustomization.yaml'].sort()).toEqual(files.sort())
  })

  it.skipIf(!hasKubectl)('are built by kustomize, with the image and the keys', () => {
    const copy = temporaryFolder()
    for (const name of readdirSync(join(folder, 'kubernetes'))) {
      if (name.endsWith('.yaml')) writeFileSync(join(copy, name), text(`kubernetes/${name}`))
    }
    mkdirSync(join(copy, 'keys'))
    writeFileSync(join(copy, 'keys/key-1'), 'k'.repeat(64))
    const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', copy], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
    const built = parseAllDocuments(stdout).map((document) => Object(document.toJS()))
    expect(
      built.filter(({ kind }) => kind !== 'Namespace').every(({ metadata }) => metadata.namespace === 'mcp'),
    ).toBe(true)
    const deployment = built.find(({ kind }) => kind === 'Deployment')
    expect(deployment.spec.template.spec.containers[0].image).toBe('registry.example.com/mcp-node:1.0.0')
    const secret = built.find(({ kind }) => kind === 'Secret')
    expect(secret.metadata.name).toBe('mcp-keys')
    expect(atob(secret.data['key-1'])).toBe('k'.repeat(64))
  })

  it('use the versions of the packages of this repository', () => {
    const { dependencies } = JSON.parse(text('node/package.json'))
    for (const name of ['sdk', 'redis']) {
      const file = new URL(`../../packages/${name}/package.json`, import.meta.url)
      expect(dependencies[`@jackfield/${name}`]).toBe(JSON.parse(readFileSync(file, 'utf8')).version)
    }
  })
})
