import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Desk, Fixture, Ran, Script } from '../types.ts'
import { callOf, configure, everyTool, onlyFor, saying, verdict } from '../with.ts'

/** Everything about folders that the server was told, in a session or in a round. */
async function told(asker: Fixture): Promise<string[]> {
  return (await asker.seen()).map(({ raw }) => raw).filter((raw) => raw.includes('"roots":['))
}

const asked: Script = {
  id: 'folders-need-consent',
  capability: 'C6',
  title: 'A server learns of no folder before I said that it may',
  how: 'A tool asks which folders are open, of a client that was set up for none, from a script. The server must not have been told of any folder, the working folder included.',
  tools: everyTool(async (desk, tool) => {
    const asker = await desk.server('asker', 'session')
    const ran = await callOf(desk, tool, asker, ['folders', {}])
    const folders = (await told(asker)).filter((raw) => raw.includes('file:'))
    return verdict(
      [folders.length === 0, `the server was told ${folders[0]?.slice(0, 200)}`],
      [!ran.timedOut, `the call did not end; ${saying(ran)}`],
    )
  }),
}

const perServer: Script = {
  id: 'folders-per-server',
  capability: 'C6',
  title: 'Tell one server of a folder and another of none',
  how: 'Two servers that ask; one is allowed the folder `plans`. It must have been told exactly that folder, the other none.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const [one, other] = [await desk.server('asker', 'session'), await desk.server('asker', 'session')]
        const plans = join(desk.cwd, 'plans')
        await mkdir(plans)
        const file = await configure(desk, { one, other })
        const config = ['--config', file]
        const added = await desk.run('jackfield', ['roots', 'add', plans])
        const allowed = await desk.run('jackfield', ['roots', 'allow', 'one', plans, ...config])
        for (const server of ['one', 'other'])
          await desk.run('jackfield', ['call', server, 'folders', ...config])
        return toldApart(one, other, [added, allowed])
      },
      mcpdo: async (desk) => {
        const [one, other] = [await desk.server('asker', 'session'), await desk.server('asker', 'session')]
        const file = await configure(desk, { one, other })
        const ran: Ran[] = []
        for (const server of ['one', 'other']) {
          ran.push(await desk.run('mcpdo', ['connect', server, '--config', file, '--era', 'auto']))
        }
        const roots = JSON.stringify([{ uri: `file://${join(desk.cwd, 'plans')}`, name: 'plans' }])
        const set = await desk.run('mcpdo', ['@one', 'roots/set', '--roots-json', roots])
        for (const server of ['one', 'other'])
          await desk.run('mcpdo', [`@${server}`, 'tools/call', 'folders', '{}'])
        return toldApart(one, other, [...ran, set])
      },
    },
    'no way to choose the folders of a server',
  ),
}

async function toldApart(one: Fixture, other: Fixture, ran: Ran[]) {
  const [first, second] = [await told(one), await told(other)]
  const failed = ran.find(({ code }) => code !== 0)
  const folders = (raw = ''): number => raw.split('"uri":').length - 1
  return verdict(
    [failed === undefined, failed === undefined ? '' : saying(failed)],
    [
      folders(first.at(-1)) === 1 && first.join().includes('/plans'),
      `the one was told ${first.join() || 'nothing'}`,
    ],
    [second.every((raw) => folders(raw) === 0), `the other was told ${second.join()}`],
  )
}

const enforced: Script = {
  id: 'folders-enforced',
  capability: 'C6',
  title: 'A server cannot read my files outside of what I opened to it, even if it tries',
  how: 'A server that reads any path it is given. Started as it is it must find the file `secret.txt` of the home folder (so that the check is one); with `"sandbox": {"read": ["plans"]}` it must find `plans/open.txt` and not the secret.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const { secret, open } = await files(desk)
        const prowler = await desk.server('prowler')
        const free = await configure(desk, { shop: prowler })
        const control = await look(desk, free, secret)
        const { command, args } = prowler
        const sandbox = { read: [join(desk.cwd, 'plans')] }
        const locked = await desk.write(
          'locked.json',
          JSON.stringify({ mcpServers: { shop: { command, args, sandbox } } }),
        )
        const [outside, inside] = [await look(desk, locked, secret), await look(desk, locked, open)]
        return verdict(
          [
            control.stdout.includes('found me'),
            `without the sandbox it finds nothing either; ${saying(control)}`,
          ],
          [inside.stdout.includes('found me'), `what is opened cannot be read; ${saying(inside)}`],
          [!outside.stdout.includes('found me'), 'the secret was read'],
        )
      },
    },
    'servers run with everything the person can reach',
  ),
}

async function files(desk: Desk): Promise<{ secret: string; open: string }> {
  const open = await desk.write('plans/open.txt', 'me')
  const secret = await desk.write('../home/secret.txt', 'me')
  return { secret, open }
}

function look(desk: Desk, config: string, path: string): Promise<Ran> {
  return desk.run('jackfield', ['call', 'shop', 'look', `path=${path}`, '--config', config])
}

export const scripts: Script[] = [asked, perServer, enforced]
