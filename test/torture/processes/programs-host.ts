import { createHost } from '@jackfield/host'

// A host with programs that never end, one of them in a call; prints a line when that call is running.

const [cpuMs = '1000', server = ''] = process.argv.slice(2)
const host = createHost({
  servers: { far: { command: process.execPath, args: [server, 'waits'] } },
  models: [],
  rules: [{ id: 'all', verdict: 'allow' }],
})
await host.start()
const programs = [
  'await servers.far.run()',
  'for (;;) {}',
  'for (;;) await null',
  'for (;;) console.log("x".repeat(1_000))',
]
for (const program of programs) void host.code.run(program, { limits: { cpuMs: Number(cpuMs) } })
while (host.activity({ kind: 'call' }).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
console.log('at it')
setInterval(() => {}, 1_000)
