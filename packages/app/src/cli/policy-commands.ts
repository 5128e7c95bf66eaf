import { type Command, Option } from 'commander'
import type { ActivityOptions, PruneOptions, VerifyOptions } from '../commands/activity.ts'
import type { PolicyOptions, PreviewOptions } from '../commands/policy.ts'
import type { StoreOptions } from '../commands/store.ts'
import type { Invocation } from './invocation.ts'
import {
  jsonOption,
  numberOf,
  storeOption,
  wholeNumber,
  withConfigOptions,
  withServerOptions,
} from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

const callers = ['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli']

/** Adds `policy`, `activity` and `store` with their subcommands. */
export function addPolicyCommands(program: Command, invocation: Invocation): void {
  addPolicy(program, invocation)
  addActivity(program, invocation)
  addStore(program, invocation)
}

function addPolicy(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/policy.ts')
  const policy = program.command('policy').description('Show and test policy rules and remembered decisions')
  const rules = policy.command('rules', { isDefault: true })
  refuseUnknownWords(policy, rules)
  withConfigOptions(rules)
    .description('List rules with their verdict and source')
    .addOption(jsonOption())
    .action((options: PolicyOptions) =>
      invocation.run(options, async (io, output) => (await load()).rules(options, io, output)),
    )
  withServerOptions(policy.command('explain').usage('[options] <target> <tool> [key=value...]'))
    .description('Explain the decision about a call without making it')
    .addOption(new Option('--caller <caller>', 'caller').choices(callers).default('chat'))
    .option('--conversation <id>', 'conversation of the call')
    .action(invocation.serverAction(async () => (await load()).explain))
  policy
    .command('preview')
    .usage('[options] <rule>')
    .description('Show which calls of the activity log a rule would have matched')
    .argument('[rule]', `a rule as in the config: '{"verdict":"deny","tool":"delete_*"}'`)
    .option('--days <count>', 'number of days to search', numberOf('a number of days'), 30)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((rule: string | undefined, options: PreviewOptions) =>
      invocation.run(options, async (io, output) => (await load()).preview(rule, options, io, output)),
    )
  policy
    .command('grants')
    .description('List remembered decisions')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((options: PolicyOptions) =>
      invocation.run(options, async (io, output) => (await load()).grants(options, io, output)),
    )
  policy
    .command('revoke')
    .usage('[options] <id>')
    .description('Revoke a remembered decision')
    .argument('[id]', 'id or a prefix of it')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((id: string | undefined, options: PolicyOptions) =>
      invocation.run(options, async (io, output) => (await load()).revoke(id, options, io, output)),
    )
}

function addActivity(program: Command, invocation: Invocation): void {
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
    .action((options: ActivityOptions) =>
      invocation.run(options, async (io, output) => (await load()).activity(options, io, output)),
    )
  activity
    .command('verify')
    .description('Verify that the log is unchanged, and print its last hash')
    .option('--head <hash>', 'hash printed earlier that must still be in the log')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((options: VerifyOptions) =>
      invocation.run(options, async (io, output) => (await load()).verify(options, io, output)),
    )
  activity
    .command('prune')
    .description('Delete the oldest rows; the rest can still be verified')
    .requiredOption('--before <time>', 'delete rows before this time, such as 2027-01-31')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((options: PruneOptions) =>
      invocation.run(options, async (io, output) => (await load()).prune(options, io, output)),
    )
}

function addStore(program: Command, invocation: Invocation): void {
  program
    .command('store')
    .description('Repair the store of the activity log and decisions')
    .command('set-aside')
    .description('Rename a damaged store, so that the next command creates a new one; nothing is deleted')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((options: StoreOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../commands/store.ts')).setAside(options, io, output),
      ),
    )
}
