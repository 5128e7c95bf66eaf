import type { Command } from 'commander'

/** The headings of the help, and the commands under each in their order. */
const headings: readonly (readonly [heading: string, commands: readonly string[]])[] = [
  ['Talk:', ['chat', 'start']],
  ['Find:', ['servers', 'tools', 'search', 'resources', 'prompts', 'find']],
  ['Use:', ['call', 'read', 'prompt', 'complete', 'watch', 'run']],
  ['Decide:', ['inbox', 'respond', 'policy', 'trust', 'roots', 'sampling']],
  ['Look back:', ['activity', 'log', 'replay', 'record', 'serve-recording']],
  [
    'Set up:',
    ['config', 'secret', 'login', 'logout', 'registry', 'install', 'uninstall', 'gateway', 'doctor', 'store'],
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
