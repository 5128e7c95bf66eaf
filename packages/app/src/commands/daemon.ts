import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { HostStatus } from '@jackfield/host/client'
import { ExitCode } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { dataFolder } from '../cli/store.ts'
import { type DaemonAddress, daemonAddress, type HostChoice, readRecord } from '../daemon/address.ts'
import { withRunningHost } from '../daemon/attach.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

const clientName = 'jackfield daemon'

export interface DaemonOptions extends HostChoice {
  json?: boolean
  /** The host processes of every folder. */
  all?: boolean
  /** Immediately, also during calls. */
  now?: boolean
}

/** `jackfield daemon status`: shows the host processes of this folder, or all of them. */
export async function daemonStatus(options: DaemonOptions, io: Io, output: Output): Promise<ExitCode> {
  const running: HostStatus[] = []
  for (const address of chosenAddresses(options, io)) {
    const status = await withRunningHost(address, clientName, (call) => call('host.status', {}))
    if (status !== undefined) running.push(status)
  }
  output.result({ hosts: running }, () => {
    if (running.length === 0)
      return `No host process runs${options.all === true ? '' : ` for this folder${optionsNote(options)}`}. The first command that needs a server starts one.`
    const rows = running.map(({ pid, workspace, since, clients, servers, runs, openQuestions }) => [
      `${pid}`,
      oneLine(workspace ?? ''),
      since.slice(0, 19).replace('T', ' '),
      `${servers}`,
      `${clients.length - 1}`,
      `${runs}`,
      `${openQuestions}`,
    ])
    return table(['PID', 'FOLDER', 'SINCE (UTC)', 'SERVERS', 'CLIENTS', 'RUNS', 'QUESTIONS'], rows, output)
  })
  return ExitCode.done
}

/** `jackfield daemon stop`: stops the host processes of this folder, or all of them, when they are idle. */
export async function daemonStop(options: DaemonOptions, io: Io, output: Output): Promise<ExitCode> {
  const stopped: number[] = []
  const busy: number[] = []
  for (const address of chosenAddresses(options, io)) {
    const done = await withRunningHost(address, clientName, async (call) => {
      const { pid, runs } = await call('host.status', {})
      const ended = options.now === true || runs === 0
      await call('host.stop', { now: options.now === true })
      return { pid, ended }
    })
    if (done !== undefined) (done.ended ? stopped : busy).push(done.pid)
  }
  output.result({ stopped, busy }, () => {
    if (stopped.length + busy.length === 0) return `No host process was running${optionsNote(options)}.`
    return [
      ...stopped.map((pid) => `The host process ${pid} ends.`),
      ...busy.map(
        (pid) => `The host process ${pid} ends once its runs are over. With --now, it ends at once.`,
      ),
    ].join('\n')
  })
  return ExitCode.done
}

/** The options that select one host process of the folder: each set of them has its own. */
function isSelective({ store, config, profile, discover, startWhatThisFolderNames }: HostChoice): boolean {
  return [store, config, profile, discover, startWhatThisFolderNames].some((option) => option !== undefined)
}

function optionsNote(options: DaemonOptions): string {
  return options.all !== true && isSelective(options) ? ' with these options' : ''
}

/**
 * The host process that the options select; without options, every one of this folder, whatever options it was started with.
 * With `all`, those of every folder.
 */
function chosenAddresses(options: DaemonOptions, io: Io): DaemonAddress[] {
  const selectedAddress = daemonAddress(options, io)
  if (options.all !== true && isSelective(options)) return [selectedAddress]
  const folder = join(dataFolder(io), 'hosts')
  const known = readdirSync(folder).flatMap((name) => {
    const [, key] = /^([0-9a-f]{16})\.json$/.exec(name) ?? []
    if (key === undefined) return []
    const at = (path: string): string => path.replaceAll(selectedAddress.key, key)
    return [
      {
        key,
        socket: at(selectedAddress.socket),
        file: at(selectedAddress.file),
        lock: at(selectedAddress.lock),
        log: at(selectedAddress.log),
      },
    ]
  })
  return options.all === true ? known : known.filter((address) => readRecord(address)?.workspace === io.cwd)
}
