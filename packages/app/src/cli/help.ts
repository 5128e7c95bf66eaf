import { type Command, Help, type Option } from 'commander'
import { examples } from './examples.ts'

/** Help headings, and the commands under each in order. */
const headings: readonly (readonly [heading: string, commands: readonly string[]])[] = [
  ['Talk:', ['chat', 'web', 'start']],
  ['Find:', ['servers', 'tools', 'search', 'resources', 'prompts', 'find']],
  ['Use:', ['call', 'read', 'prompt', 'complete', 'watch', 'run', 'tasks', 'generate']],
  ['Decide:', ['inbox', 'respond', 'policy', 'trust', 'roots', 'sampling']],
  ['Look back:', ['activity', 'log', 'replay', 'record', 'serve-recording']],
  [
    'Set up:',
    [
      'config',
      'secret',
      'login',
      'logout',
      'registry',
      'install',
      'uninstall',
      'gateway',
      'doctor',
      'daemon',
      'store',
      'completion',
      'options',
    ],
  ],
]

/** Adds to the help of commands with `--model` which variables select a model. */
export const modelHelp = `
Models are chosen by --model provider/model, else JACKFIELD_MODEL, else the config's jackfield.models, else the first
provider below whose variables are set. A variable in the second column is needed, those in the third are optional:
  anthropic   ANTHROPIC_API_KEY             ANTHROPIC_MODEL, ANTHROPIC_BASE_URL
  openai      OPENAI_API_KEY                OPENAI_MODEL, OPENAI_BASE_URL (a server with the Responses API)
  google      GEMINI_API_KEY                GEMINI_MODEL, GOOGLE_GENERATIVE_AI_BASE_URL
  compatible  OPENAI_COMPATIBLE_BASE_URL    OPENAI_COMPATIBLE_MODEL, OPENAI_COMPATIBLE_API_KEY (chat completions)
  ollama      OLLAMA_HOST                   OLLAMA_MODEL; without OLLAMA_HOST, port 11434 of this machine is tried
  offline     nothing: a planner without a language model

  ANTHROPIC_API_KEY=… jackfield chat
  OPENAI_API_KEY=… jackfield chat --model openai/gpt-6-sol
  OPENAI_COMPATIBLE_BASE_URL=http://127.0.0.1:8000/v1 jackfield chat --model compatible/qwen3
  jackfield chat --model ollama/llama3.2`

/** What a program of `jackfield run` looks like. */
export const programHelp = `
A program is the body of an async function, without import and export. --types prints the declarations of your servers:
  const { text } = await servers.everything['get-sum']({ a: 2, b: 3 })
  return text`

/** The format of an answers file, in the help of commands with `--answers`. */
export const answersHelp = `
An answers file (--answers FILE) answers questions when no user is present. In each list, the first matching entry is used:
  {
    "elicitation": [
      { "match": "Which seat", "action": "accept", "content": { "seat": "12A" } },
      { "action": "decline" }
    ],
    "sampling": [{ "match": "/summar/i", "model": "offline" }, { "text": "No comment." }],
    "approvals": [{ "tool": "search", "verdict": "allow" }],
    "roots": "deny"
  }
"match" is a part of the question, or /a regular expression/flags; an entry without it matches every question. Questions without a
matching entry are refused; "tool" is a name or a glob such as read_*. --park leaves questions in the inbox instead.`

/** Groups all commands under their headings. */
export function groupCommands(program: Command): void {
  const rank = new Map(headings.flatMap(([, commands]) => commands).map((name, index) => [name, index]))
  for (const [heading, commands] of headings) {
    for (const command of program.commands) if (commands.includes(command.name())) command.helpGroup(heading)
  }
  const order = ({ commands }: Command): readonly Command[] =>
    commands.toSorted((a, b) => (rank.get(a.name()) ?? rank.size) - (rank.get(b.name()) ?? rank.size))
  program.configureHelp({
    subcommandTerm: (command) => command.name(),
    visibleCommands: (command) => [...order(command)],
    // Commander orders groups by the first command that was added.
    groupItems: (_, visible, groupOf) => new Help().groupItems(visible, visible, groupOf),
  })
}

/** Adds examples to the help of every command, and removes the options described once in `shared`, the command `options`. */
export function completeHelp(program: Command, shared: Command): void {
  const described = (option: Option): boolean =>
    shared.options.some((one) => one.flags === option.flags && one.description === option.description)
  const visit = (command: Command, path: string): void => {
    for (const own of command.commands) visit(own, `${path} ${own.name()}`.trim())
    if (command === program) return
    const typed = path.replace(/ list$/, '')
    command.showHelpAfterError(
      `${typed === 'call' ? 'Arguments of the tool are written key=value. ' : ''}Usage and options: jackfield ${typed} --help`,
    )
    if (command === shared) return
    if (command.options.some(described)) {
      command.configureHelp({
        ...command.configureHelp(),
        visibleOptions: (command) =>
          new Help().visibleOptions(command).filter((option) => !described(option)),
      })
      command.addHelpText('after', '\nOptions shared by most commands: jackfield help options')
    }
    const { runnable = [], others = [] } = Object.hasOwn(examples, path) ? (examples[path] ?? {}) : {}
    const lines = [...runnable, ...others].map((line) => `  jackfield ${line}`)
    if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }
  visit(program, '')
}
