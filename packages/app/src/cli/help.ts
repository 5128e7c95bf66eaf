import { type Command, Help, type Option } from 'commander'
import { examples } from './examples.ts'

/** The headings of the help, and the commands under each in their order. */
const headings: readonly (readonly [heading: string, commands: readonly string[]])[] = [
  ['Talk:', ['chat', 'start']],
  ['Find:', ['servers', 'tools', 'search', 'resources', 'prompts', 'find']],
  ['Use:', ['call', 'read', 'prompt', 'complete', 'watch', 'run']],
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
      'store',
      'options',
    ],
  ],
]

/** Puts every command of the program under its heading. */
export function groupCommands(program: Command): void {
  const rank = new Map(headings.flatMap(([, commands]) => commands).map((name, at) => [name, at]))
  for (const [heading, commands] of headings) {
    for (const command of program.commands) if (commands.includes(command.name())) command.helpGroup(heading)
  }
  const order = ({ commands }: Command): readonly Command[] =>
    commands.toSorted((a, b) => (rank.get(a.name()) ?? rank.size) - (rank.get(b.name()) ?? rank.size))
  program.configureHelp({
    subcommandTerm: (made) => made.name(),
    visibleCommands: (made) => [...order(made)],
  })
}

/** Adds examples to the help of every command, and leaves out what `shared`, the command `options`, describes for all. */
export function completeHelp(program: Command, shared: Command): void {
  const described = (option: Option): boolean =>
    shared.options.some((one) => one.flags === option.flags && one.description === option.description)
  const visit = (command: Command, path: string): void => {
    for (const own of command.commands) visit(own, `${path} ${own.name()}`.trim())
    if (command === program || command === shared) return
    if (command.options.some(described)) {
      command.configureHelp({
        ...command.configureHelp(),
        visibleOptions: (made) => new Help().visibleOptions(made).filter((option) => !described(option)),
      })
      command.addHelpText('after', '\nOptions shared by most commands: jackfield help options')
    }
    const { runnable = [], others = [] } = Object.hasOwn(examples, path) ? (examples[path] ?? {}) : {}
    const lines = [...runnable, ...others].map((line) => `  jackfield ${line}`)
    if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }
  visit(program, '')
}
