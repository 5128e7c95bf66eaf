import { dirname } from 'node:path'
import { CheckFailed, forClis, summarize } from './checks.ts'
import { callTool, writeConfig } from './commands.ts'
import type {
  FixtureServer,
  ProcessResult,
  ReceivedMessage,
  RunningProcess,
  Script,
  Verdict,
  Workspace,
} from './types.ts'
import { processesOf } from './workspace.ts'

/** The command lines that let a user answer questions of servers without a terminal. */
export type AnsweringCli = 'jackfield' | 'mcpdo'

/** The same check for the command lines that can answer questions without a terminal. */
export function forAnsweringClis(
  check: (workspace: Workspace, cli: AnsweringCli) => Promise<Verdict>,
): Script['checks'] {
  const missing = 'declares no elicitation, so it cannot answer questions of servers'
  return forClis(['jackfield', 'mcpdo'], check, missing)
}

/** An open question of a server. */
export interface PendingQuestion {
  id: string
  /** What the command line printed about it. */
  output: string
  /** The calling process, which waits. mcpdo has none: its daemon keeps the call. */
  caller?: RunningProcess
  file: string
}

/** Calls a tool that asks the user, without a terminal, and returns the open question. */
export async function callUntilQuestion(
  workspace: Workspace,
  cli: AnsweringCli,
  server: FixtureServer,
  name: string,
): Promise<PendingQuestion> {
  const file = await writeConfig(workspace, { shop: server })
  const failed = (result: ProcessResult): CheckFailed =>
    new CheckFailed(`no question appeared: ${summarize(result)}`)
  if (cli === 'mcpdo') {
    const result = await callTool(workspace, cli, server, [name, {}])
    const id = /elicitation-[\w-]{20,}/.exec(result.stdout)?.[0]
    if (id === undefined) throw failed(result)
    return { id, output: result.stdout, file }
  }
  const caller = workspace.start('jackfield', ['call', 'shop', name, '--park', '--config', file])
  const hint = /jackfield respond (\w+)/
  await caller.waitFor(hint).catch(() => {})
  const output = caller.stderr + caller.stdout
  const id = hint.exec(output)?.[1]
  if (id === undefined) throw failed(await caller.stop())
  return { id, output, caller, file }
}

/** Answers a question from another process; `answer` has the arguments of the command line. */
export function answerQuestion(
  workspace: Workspace,
  cli: AnsweringCli,
  { id, file }: PendingQuestion,
  answer: string[],
): Promise<ProcessResult> {
  return cli === 'mcpdo'
    ? workspace.run(cli, ['elicitation/respond', id, ...answer])
    : workspace.run(cli, ['respond', id, ...answer, '--config', file])
}

/** Kills all processes of the workspace, servers and daemons included. */
export async function killEverything(workspace: Workspace): Promise<void> {
  const folder = dirname(workspace.home)
  for (let round = 0; round < 40; round += 1) {
    const pids = processesOf(folder)
    if (pids.length === 0) return
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has exited.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The responses to input requests that a server received: as messages of a session, or as `inputResponses`. */
export function inputResponsesIn(
  messages: readonly ReceivedMessage[],
): { action?: string; content?: unknown }[] {
  return messages.flatMap(({ method, result, params }) => {
    const responses = params?.['inputResponses']
    if (typeof responses === 'object' && responses !== null) return Object.values(responses)
    return method === undefined && typeof result === 'object' && result !== null ? [result] : []
  })
}
