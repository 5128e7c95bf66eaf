import { absentIn, forClis, judge, outputOf, summarize } from '../checks.ts'
import { connectIfNeeded, transportFor, writeConfig } from '../commands.ts'
import { type ConfigurableServer, configurableServer } from '../configurable-server.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import type { Cli, ProcessResult, Script, Verdict, Workspace } from '../types.ts'

type PromptCli = Exclude<Cli, 'mcporter'>

function greetServer(name: string): ServerBehavior {
  return {
    name,
    prompts: [
      { name: 'greet', description: 'Greets someone.', arguments: [{ name: 'who', required: true }] },
    ],
    completions: { who: ['anna', 'annika', 'bert'] },
  }
}

/** Connects the servers, and returns a function that gets the prompt `greet` of one of them. */
async function prepareGreet(
  workspace: Workspace,
  cli: PromptCli,
  servers: Record<string, ConfigurableServer>,
): Promise<(server: string, args: Record<string, string>) => Promise<ProcessResult>> {
  const file = await writeConfig(workspace, servers)
  await connectIfNeeded(workspace, cli, file, servers)
  return (server, args) => {
    const pairs = Object.entries(args).map(([name, value]) => `${name}=${value}`)
    const argFlags = pairs.length === 0 ? [] : ['--prompt-args', ...pairs]
    const json = JSON.stringify(args)
    const argv: Record<PromptCli, string[]> = {
      jackfield: ['prompt', server, 'greet', ...pairs, '--config', file],
      inspector: [
        '--config',
        file,
        '--server',
        server,
        '--method',
        'prompts/get',
        '--prompt-name',
        'greet',
        ...argFlags,
      ],
      mcpdo: [`@${server}`, 'prompts/get', 'greet', ...argFlags],
      'mcp-use': ['client', server, 'prompts', 'get', 'greet', ...(pairs.length === 0 ? [] : [json])],
      wong2: [
        '--config',
        file,
        'get-prompt',
        `${server}:greet`,
        ...(pairs.length === 0 ? [] : ['--args', json]),
      ],
    }
    return workspace.run(cli, argv[cli])
  }
}

async function reportsMissingArgument(workspace: Workspace, cli: PromptCli): Promise<Verdict> {
  const server = await configurableServer(workspace, greetServer('demo'), transportFor(cli))
  const greet = await prepareGreet(workspace, cli, { demo: server })
  const result = await greet('demo', {})
  const isRequested = (await server.received()).some(({ method }) => method === 'prompts/get')
  if (isRequested)
    return {
      kind: 'no',
      note: `the server received the request without the argument; ${summarize(result, 100)}`,
    }
  return judge([
    result.code !== 0 && /\bwho\b/.test(outputOf(result)),
    `the argument is not named; ${summarize(result)}`,
  ])
}

async function getsBoth(workspace: Workspace, cli: PromptCli): Promise<Verdict> {
  const transport = transportFor(cli)
  const [north, south] = [
    await configurableServer(workspace, greetServer('north'), transport),
    await configurableServer(workspace, greetServer('south'), transport),
  ]
  const greet = await prepareGreet(workspace, cli, { north, south })
  for (const server of ['north', 'south']) {
    const result = await greet(server, { who: 'anna' })
    const text = `${server}: `
    if (!result.stdout.includes(text) || !result.stdout.includes('anna')) {
      return { kind: 'no', note: `the prompt of ${server} is not printed; ${summarize(result)}` }
    }
  }
  return { kind: 'yes' }
}

async function completes(workspace: Workspace, cli: 'jackfield' | 'mcpdo'): Promise<Verdict> {
  const server = await configurableServer(workspace, greetServer('demo'))
  const file = await writeConfig(workspace, { demo: server })
  await connectIfNeeded(workspace, cli, file, { demo: server })
  const refFlags = ['--complete-ref-type', 'ref/prompt', '--complete-ref', 'greet']
  const argumentFlags = ['--complete-arg-name', 'who', '--complete-arg-value', 'ann']
  const argv = {
    jackfield: ['complete', 'demo', 'greet', 'who', 'ann', '--config', file],
    mcpdo: ['@demo', 'prompts/complete', ...refFlags, ...argumentFlags],
  }
  const result = await workspace.run(cli, argv[cli])
  const { stdout } = result
  return judge([
    stdout.includes('anna') && stdout.includes('annika') && !stdout.includes('bert'),
    `the values are not printed; ${summarize(result)}`,
  ])
}

const promptClis: readonly PromptCli[] = ['jackfield', 'inspector', 'mcpdo', 'mcp-use', 'wong2']
const noPrompts = 'no command for prompts'

export const scripts: Script[] = [
  {
    id: 'missing-prompt-argument',
    capability: 'C8',
    title: 'Learn which prompt argument is missing, before the server is asked',
    how: 'A prompt with the required argument "who" is requested without it. The output must name the argument, the exit code must not be 0, and the server must not receive `prompts/get`.',
    checks: forClis(promptClis, reportsMissingArgument, noPrompts),
  },
  {
    id: 'same-prompt-of-two-servers',
    capability: 'C8',
    title: 'Use prompts of the same name from two servers',
    how: 'Both servers have the prompt "greet", with their own name in the text. The output must contain the text of the chosen server.',
    checks: forClis(promptClis, getsBoth, noPrompts),
  },
  {
    id: 'prompt-argument-completion',
    capability: 'C8',
    title: 'Complete an argument of a prompt',
    how: 'The server has two values for "ann" and a third one. The output must contain the two and not the third.',
    checks: {
      ...forClis(['jackfield', 'mcpdo'], completes, 'no completion'),
      mcporter: absentIn('mcporter', noPrompts),
    },
  },
]
