import type { Part } from '../fixtures/part.ts'
import {
  allOf,
  decided,
  joinMcpdo,
  joinMcpUse,
  noneHas,
  type Playing,
  playing,
  transportFor,
  without,
} from '../playing.ts'
import type { Desk, Ran, Script, Tool, Verdict } from '../types.ts'
import { configure, saying } from '../with.ts'

type Prompting = Exclude<Tool, 'mcporter'>

function greeter(name: string): Part {
  return {
    name,
    prompts: [
      { name: 'greet', description: 'Greets someone.', arguments: [{ name: 'who', required: true }] },
    ],
    completions: { who: ['anna', 'annika', 'bert'] },
  }
}

/** Gets the prompt `greet` of one of the servers, as each tool documents it. */
async function greetOf(
  desk: Desk,
  tool: Prompting,
  servers: Record<string, Playing>,
): Promise<(server: string, args: Record<string, string>) => Promise<Ran>> {
  const file = await configure(desk, servers)
  if (tool === 'mcpdo') await joinMcpdo(desk, file, Object.keys(servers))
  if (tool === 'mcp-use') await joinMcpUse(desk, servers)
  return (server, args) => {
    const pairs = Object.entries(args).map(([name, value]) => `${name}=${value}`)
    const given = pairs.length === 0 ? [] : ['--prompt-args', ...pairs]
    const json = JSON.stringify(args)
    const words: Record<Prompting, string[]> = {
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
        ...given,
      ],
      mcpdo: [`@${server}`, 'prompts/get', 'greet', ...given],
      'mcp-use': ['client', server, 'prompts', 'get', 'greet', ...(pairs.length === 0 ? [] : [json])],
      wong2: [
        '--config',
        file,
        'get-prompt',
        `${server}:greet`,
        ...(pairs.length === 0 ? [] : ['--args', json]),
      ],
    }
    return desk.run(tool, words[tool])
  }
}

async function namesMissing(desk: Desk, tool: Prompting): Promise<Verdict> {
  const den = await playing(desk, greeter('den'), transportFor(tool))
  const greet = await greetOf(desk, tool, { den })
  const ran = await greet('den', {})
  const asked = (await den.seen()).some(({ method }) => method === 'prompts/get')
  if (asked) return { kind: 'no', note: `the server was asked without the argument; ${saying(ran, 100)}` }
  return decided(ran.code !== 0 && /\bwho\b/.test(allOf(ran)), `the argument is not named; ${saying(ran)}`)
}

async function reachesBoth(desk: Desk, tool: Prompting): Promise<Verdict> {
  const transport = transportFor(tool)
  const [north, south] = [
    await playing(desk, greeter('north'), transport),
    await playing(desk, greeter('south'), transport),
  ]
  const greet = await greetOf(desk, tool, { north, south })
  for (const server of ['north', 'south']) {
    const ran = await greet(server, { who: 'anna' })
    const text = `${server}: `
    if (!ran.stdout.includes(text) || !ran.stdout.includes('anna')) {
      return { kind: 'no', note: `the prompt of ${server} is not given; ${saying(ran)}` }
    }
  }
  return { kind: 'yes' }
}

async function completes(desk: Desk, tool: 'jackfield' | 'mcpdo'): Promise<Verdict> {
  const den = await playing(desk, greeter('den'))
  const file = await configure(desk, { den })
  if (tool === 'mcpdo') await joinMcpdo(desk, file, ['den'])
  const asked = ['--complete-ref-type', 'ref/prompt', '--complete-ref', 'greet']
  const argument = ['--complete-arg-name', 'who', '--complete-arg-value', 'ann']
  const words = {
    jackfield: ['complete', 'den', 'greet', 'who', 'ann', '--config', file],
    mcpdo: ['@den', 'prompts/complete', ...asked, ...argument],
  }
  const ran = await desk.run(tool, words[tool])
  const { stdout } = ran
  return decided(
    stdout.includes('anna') && stdout.includes('annika') && !stdout.includes('bert'),
    `the suggestions are not shown; ${saying(ran)}`,
  )
}

const noPrompts = without('mcporter', 'no command for prompts')

export const scripts: Script[] = [
  {
    id: 'missing-prompt-argument',
    capability: 'C8',
    title: 'Hear which argument of a prompt is missing, before the server is asked.',
    how: 'A prompt needs "who" and is asked for without it: the tool has to name it and end with a failure, and the server must not have seen `prompts/get`.',
    tools: {
      jackfield: (desk) => namesMissing(desk, 'jackfield'),
      inspector: (desk) => namesMissing(desk, 'inspector'),
      mcpdo: (desk) => namesMissing(desk, 'mcpdo'),
      mcporter: noPrompts,
      'mcp-use': (desk) => namesMissing(desk, 'mcp-use'),
      wong2: (desk) => namesMissing(desk, 'wong2'),
    },
  },
  {
    id: 'same-prompt-of-two-servers',
    capability: 'C8',
    title: 'Use a prompt of the same name from either of two servers.',
    how: 'Both servers have "greet" and sign their text with their own name; each has to be had.',
    tools: {
      jackfield: (desk) => reachesBoth(desk, 'jackfield'),
      inspector: (desk) => reachesBoth(desk, 'inspector'),
      mcpdo: (desk) => reachesBoth(desk, 'mcpdo'),
      mcporter: noPrompts,
      'mcp-use': (desk) => reachesBoth(desk, 'mcp-use'),
      wong2: (desk) => reachesBoth(desk, 'wong2'),
    },
  },
  {
    id: 'prompt-argument-completion',
    capability: 'C8',
    title: 'Have the argument of a prompt completed by the server.',
    how: 'The server suggests two values for "ann"; both have to be shown and the third must not.',
    tools: {
      ...noneHas('no completion'),
      mcporter: noPrompts,
      jackfield: (desk) => completes(desk, 'jackfield'),
      mcpdo: (desk) => completes(desk, 'mcpdo'),
    },
  },
]
