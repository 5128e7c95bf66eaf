import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ActivityOptions, PruneOptions, VerifyOptions } from '../commands/activity.ts'
import type { CommandContext } from '../commands/context.ts'
import type { ExplainOptions, PolicyOptions, PreviewOptions } from '../commands/policy.ts'
import type { StoreOptions } from '../commands/store.ts'
import type { BeginCommand, Io } from './io.ts'
import { jsonOption, storeOption, wholeNumber, withConfigOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

export interface PolicyCommandDeps {
  io: Io
  /** The words after `--`. */
  command: string[] | undefined
  /** Receives whether the result is JSON. */
  begin: BeginCommand
  withServerOptions: (command: Command) => Command
}

const callers = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli']

/** Adds `policy`, `activity` and `store` with their subcommands. */
export function addPolicyCommands(program: Command, deps: PolicyCommandDeps): void {
  addPolicy(program, deps)
  addActivity(program, deps)
  addStore(program, deps)
}

function addPolicy(program: Command, { io, command, begin, withServerOptions }: PolicyCommandDeps): void {
  const load = () => import('../commands/policy.ts')
  const policy = program.command('policy').description('Show and test policy rules and remembered decisions')
  const rules = policy.command('rules', { isDefault: true })
  refuseUnknownWords(policy, rules)
  withConfigOptions(rules)
    .description('List rules with their verdict and source')
    .addOption(jsonOption())
    .action(async (options: PolicyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).rules(options, io, output))
    })
  withServerOptions(policy.command('explain').usage('[options] <target> <tool> [key=value...]'))
    .description('Explain the decision about a call without making it')
    .argument('[words...]')
    .addOption(new Option('--caller <caller>', 'caller').choices(callers).default('chat'))
    .option('--conversation <id>', 'conversation of the call')
    .action(async (words: string[], options: ExplainOptions) => {
      const { output, end } = begin(options.json === true)
      const context: CommandContext<ExplainOptions> = { words, command, options, io, output }
      end(await (await load()).explain(context))
    })
  policy
    .command('preview')
    .usage('[options] <rule>')
    .description('Show which calls of the activity log a rule would have matched')
    .argument('[rule]', `a rule as in the config: '{"verdict":"deny","tool":"delete_*"}'`)
    .option('--days <count>', 'number of days to search', positive, 30)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (rule: string | undefined, options: PreviewOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).preview(rule, options, io, output))
    })
  policy
    .command('grants')
    .description('List remembered decisions')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: PolicyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).grants(options, io, output))
    })
  policy
    .command('revoke')
    .usage('[options] <id>')
    .description('Revoke a remembered decision')
    .argument('[id]', 'id or a prefix of it')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, options: PolicyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).revoke(id, options, io, output))
    })
}

function addActivity(program: Command, { io, begin }: PolicyCommandDeps): void {
  const load = () => import('../commands/activity.ts')
  const activity = program
    .command('activity')
    .description('Show calls, reads and questions with who decided, newest last')
  activity
    .command('list', { isDefault: true })
    .description('List the newest rows')
    .option('--server <name>', 'only this server')
    .option('--limit <count>', 'maximum number of rows', wholeNumber(), 50)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: ActivityOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).activity(options, io, output))
    })
  activity
    .command('verify')
    .description('Verify that the log is unchanged, and print its last hash')
    .option('--head <hash>', 'hash printed earlier that must still be in the log')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: VerifyOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).verify(options, io, output))
    })
  activity
    .command('prune')
    .description('Delete the oldest rows; the rest can still be verified')
    .requiredOption('--before <time>', 'delete rows before this time, such as 2027-01-31')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: PruneOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).prune(options, io, output))
    })
}

function addStore(program: Command, { io, begin }: PolicyCommandDeps): void {
  program
    .command('store')
    .description('Repair the store of the activity log and decisions')
    .command('set-aside')
    .description('Rename a damaged store, so that the next command creates a new one; nothing is deleted')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (options: StoreOptions) => {
      const { output, end } = begin(options.json === true)
      const { setAside } = await import('../commands/store.ts')
      end(setAside(options, io, output))
    })
}

function positive(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError('It must be a number of days.')
}
