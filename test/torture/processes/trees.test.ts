import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { expect, test } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { processes, processOf, stillRunning } from './proc.ts'
import { inParallel, untilSettled } from './trials.ts'

/** Four times what is claimed. */
const hungMs = 12_000

const server = `
echo "running $$" >&2
while IFS= read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=\${line#*'"id":'}
  printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"shell","version":"1"}}}\\n' "\${id%%[,\\}]*}"
done
`

/** A server in up to three shells; each of them, and the server, may ignore SIGTERM and start processes of their own. */
function treeOf(random: Random): string {
  const layer = (inner: string): string => {
    const deaf = random.fraction() < 0.5 ? 'trap "" TERM\n' : ''
    const others = 'sleep 1000 >/dev/null &\n'.repeat(random.between(0, 2))
    return `${deaf}${others}${inner}`
  }
  const stays = random.fraction() < 0.5 ? 'sleep 1000' : ''
  let script = layer(`${server}${stays}`)
  for (let depth = random.between(0, 3); depth > 0; depth--) {
    script = layer(`sh -c '${script.replaceAll("'", `'\\''`)}'\nexit $?`)
  }
  return script
}

async function closeOnce(random: Random): Promise<number> {
  let output = ''
  const link = stdio({
    command: 'sh',
    args: ['-c', treeOf(random)],
    onStderr: (text) => {
      output += text
    },
  })
  const client = await connect(link, { revisions: ['2025-11-25'] })
  await expect.poll(() => output, { timeout: hungMs }).toMatch(/running \d+\n/)
  const pid = Number(/running (\d+)/.exec(output)?.[1])
  const group = processOf(pid)?.group
  const tree = processes().filter((one) => one.group === group)
  expect(tree.length).toBeGreaterThan(0)
  if (random.fraction() < 0.25) process.kill(pid, 'SIGKILL')
  await sleep(random.fraction() * 5)
  const began = performance.now()
  await untilSettled(client.close(), hungMs, 'client.close()')
  const elapsedMs = performance.now() - began
  // Even what was killed needs a moment of a processor to end.
  await expect.poll(() => stillRunning(tree), { timeout: hungMs }).toEqual([])
  return elapsedMs
}

const claim = 'Closing a connection ends the server and all that it started, also what ignores SIGTERM'
if (!existsSync('/proc/self/stat')) test.skip(`${claim} (needs /proc)`, () => {})
else {
  campaign(
    {
      id: 'tree-closed',
      chapter: 'Processes',
      claim,
      trial: 'close of a server within up to three shells and up to eight processes of theirs',
      trials: { test: 8, change: 40, long: 2_000 },
      longMinutes: 60,
    },
    async ({ trials, seed, measured }) => {
      const times: number[] = []
      await inParallel(trials, 10, async (trial) => {
        times.push(await closeOnce(new Random(seed + trial)))
      })
      measured('longest', Math.max(...times), 'ms')
      measured('shortest', Math.min(...times), 'ms')
    },
  )
}
