import { type PairRow, pairRows } from './pair.ts'
import { type Measured, start } from './process.ts'

export interface StdioPlan {
  rounds: number
  ms: number
  warmUpMs: number
  /** Requests on their way at once. */
  window: number
}

export interface StdioTarget {
  name: string
  /** A file of `servers`. */
  file: string
  session?: true
}

const servers: StdioTarget[] = [
  { name: 'plain JSON lines', file: 'plain-stdio' },
  { name: 'jackfield 2026-07-28', file: 'jackfield-stdio' },
  { name: 'official v2, 2026-07-28', file: 'official-v2-stdio' },
  { name: 'tmcp, 2026-07-28', file: 'tmcp-stdio' },
  { name: 'fastmcp, session', file: 'fastmcp-stdio', session: true },
]

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** The first target is the limit for the others. */
export async function measureStdio(
  plan: StdioPlan,
  targets: readonly StdioTarget[] = servers,
): Promise<PairRow[]> {
  const pipes = new Map<string, Pipe>()
  const cpu = new Map<string, number[]>()
  const rates = new Map<string, number[]>()
  try {
    for (const { name, file, session = false } of targets) {
      const pipe = new Pipe(name, await start(`servers/${file}.ts`, ['--tools', '50'], 'pipe'), session)
      pipes.set(name, pipe)
      if (session) await pipe.initialize()
    }
    for (let round = 0; round <= plan.rounds; round++) {
      for (const [name, pipe] of pipes) {
        const before = await pipe.server.cpu()
        const { calls, ms } = await pipe.load(round === 0 ? plan.warmUpMs : plan.ms, plan.window)
        const used = (await pipe.server.cpu()) - before
        if (round === 0) continue
        cpu.set(name, [...(cpu.get(name) ?? []), used / calls])
        rates.set(name, [...(rates.get(name) ?? []), (calls / ms) * 1000])
      }
    }
  } finally {
    await Promise.all([...pipes.values()].map(({ server }) => server.close()))
  }
  return pairRows(targets, cpu, rates)
}

/** A stdio server kept busy with a bounded number of calls. */
class Pipe {
  readonly server: Measured
  readonly #name: string
  readonly #session: boolean
  #left = ''
  #nextId = 1
  #onAnswer: (line: string) => void = () => {}

  constructor(name: string, server: Measured, session: boolean) {
    this.#name = name
    this.#session = session
    this.server = server
    server.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
  }

  async initialize(): Promise<void> {
    const clientInfo = { name: 'bench', version: '1.0.0' }
    const answered = new Promise<void>((resolve) => {
      this.#onAnswer = () => resolve()
    })
    this.#write({
      id: this.#nextId++,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    })
    await answered
    this.#write({ method: 'notifications/initialized' })
  }

  load(forMs: number, window: number): Promise<{ calls: number; ms: number }> {
    const started = performance.now()
    let calls = 0
    let waiting = window
    return new Promise((resolve, reject) => {
      const stalled = setTimeout(() => reject(new Error(`${this.#name} stopped answering`)), forMs + 20_000)
      this.#onAnswer = (line) => {
        if (!line.includes('"result"')) {
          clearTimeout(stalled)
          reject(new Error(`${this.#name}: ${line.slice(0, 300)}`))
          return
        }
        calls++
        if (performance.now() - started < forMs) this.#send()
        else if (--waiting === 0) {
          clearTimeout(stalled)
          resolve({ calls, ms: performance.now() - started })
        }
      }
      for (let n = 0; n < window; n++) this.#send()
    })
  }

  #send(): void {
    const call = { name: 'echo', arguments: { text: 'Hello from the load generator' } }
    const params = this.#session ? call : { ...call, _meta: meta }
    this.#write({ id: this.#nextId++, method: 'tools/call', params })
  }

  #write(message: object): void {
    this.server.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #read(text: string): void {
    const lines = (this.#left + text).split('\n')
    this.#left = lines.pop() ?? ''
    for (const line of lines) this.#onAnswer(line)
  }
}
