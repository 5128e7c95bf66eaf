const together = 8

/** The address every client is given. */
export const url: string = process.argv[2] ?? ''

/** Calls for as long as the parent process asks, and reports the number of calls and their cost. */
export function serve(call: () => Promise<unknown>): void {
  process.on('message', (message: { ms: number }) => {
    run(call, message.ms).then(
      (done) => process.send?.(done),
      (error: Error) => process.send?.({ failure: error.message }),
    )
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ready: true })
}

async function run(call: () => Promise<unknown>, forMs: number): Promise<object> {
  const before = process.cpuUsage()
  const started = performance.now()
  let calls = 0
  const one = async (): Promise<void> => {
    while (performance.now() - started < forMs) {
      const text = JSON.stringify(await call())
      if (!text.includes('Hello')) throw new Error(`not an echo: ${text.slice(0, 300)}`)
      calls++
    }
  }
  await Promise.all(Array.from({ length: together }, one))
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(before)
  return { calls, ms, cpu: user + system }
}
