import { type Class, read, reported } from '../advisory.ts'

const pins = 'packages/host/test/trust/pins.test.ts'
const attacks = 'packages/host/test/attacks/attacks.test.ts'
const names = 'packages/host/test/catalog/names.test.ts'
const policy = 'packages/host/test/policy/policy.test.ts'

/** What a user approved, and what a model received. */
export const hosts: Class = {
  title: 'Hosts, people and models',
  weaknesses: [
    {
      title: 'Consent bound to a name only',
      advisories: [
        reported('Cursor', 'what was agreed to by name could become another command', 'CVE-2025-54136'),
        reported(
          'four command line hosts, 2026',
          'consent to one server was consent to later ones',
          'Adversa, May 2026',
        ),
        reported('several hosts', 'consent hung on the name of a server', 'Repello, 2026'),
      ],
      here: 'Consent to start a server is bound to its whole definition, including the values of its variables. Approvals of a tool are bound to the identity of the server (command, arguments, folder and variable names, or address) and to the whole definition of the tool; a changed tool is disabled until the person has seen the difference.',
      proof: [
        `${pins} > is disabled if it is new, and a renamed tool is recognised`,
        `${pins} > stays disabled once the user blocks it, until it changes again`,
        `${policy} > belong to the server's identity, not to its name`,
        `${policy} > changes with its %s`,
        'packages/host/test/launch/launch.test.ts > is asked about once, also by later programs, until its definition changes',
        'packages/host/test/launch/identity.test.ts > stays while the values in its command stay the same, and changes with them',
        'packages/host/test/broker/broker.test.ts > is not made if the tool changed while the question was open',
      ],
    },
    {
      title: 'Settings of a project that take effect without consent',
      advisories: [
        reported(
          'Cursor',
          'a model was led to write a configuration that was started at once',
          'CVE-2025-54135',
        ),
        reported(
          'Claude Code',
          'settings of a project took effect before the question whether to trust it',
          'CVE-2025-59536',
          'CVE-2026-21852',
          'CVE-2026-33068',
        ),
      ],
      here: 'Rules in a file of the working folder can deny and ask, but not allow. Each of its servers starts only after consent, and every change requires a new consent.',
      proof: [
        'packages/host/test/config/layers.test.ts > a file of the working folder can forbid and ask, but not allow',
        'packages/host/test/launch/launch.test.ts > is not started without consent, and the error says how to consent',
        'packages/host/test/launch/launch.test.ts > is asked about once, also by later programs, until its definition changes',
      ],
    },
    {
      title: 'Names that collide',
      advisories: [
        read(
          'WeKnora',
          'a tool took the place of another with the same name after cleaning',
          'CVE-2026-30856',
        ),
        read(
          'qwen-code, nanobot, LibreChat',
          'a rule for a tool of one server matched a tool of another',
          'qwen-code, issue 10199',
          'nanobot, issue 4618',
          'LibreChat, issue 14553',
        ),
        read('oh-my-pi', 'a rule that denies never matched a tool of MCP', 'oh-my-pi, issue 9830'),
      ],
      here: 'A tool is identified by its server and its name; the names that models see map one to one to both. Rules match server and tool, a rule with a misspelled field is an error that stops every command, and deny rules take precedence.',
      proof: [
        `${names} > are one to one for 2 000 generated pairs at a time, valid for every provider, and stable`,
        `${names} > cannot be forged with a tool named like a hashed name`,
        `${policy} > return the strictest matching verdict for any set of rules`,
        'packages/host/test/broker/broker.test.ts > does not reach the server if a rule denies it, without a question',
        'packages/host/test/config/rule.test.ts > fails the configuration with %s',
      ],
    },
    {
      title: 'Instructions in tool descriptions',
      advisories: [
        reported(
          'hosts in general, April 2025',
          'descriptions told models what to do with other tools',
          'Invariant Labs, tool poisoning',
        ),
        reported(
          'hosts in general, 2025',
          'the same in every member of a schema, names included',
          'CyberArk, full schema poisoning',
        ),
        reported(
          'hosts in general, 2025',
          'terminal sequences and characters that nobody sees hid orders',
          'Trail of Bits, line jumping',
        ),
        reported('o1-mini and others', 'obeyed such orders up to 73 times in 100', 'MCPTox'),
        reported(
          'WhatsApp and GitHub servers, 2025',
          'an order in one server’s text used another’s tools',
          'Invariant Labs, 2025',
        ),
      ],
      here: 'Definitions of servers are scanned, shown with every hidden character, pinned and compared. No text of a server changes a verdict: calls pass policy and the person, whatever the model requests. More than a hundred attacks are tested with a model that follows every instruction.',
      proof: [
        'test/torture/terminals/commands.test.ts > No command prints a control character, an invisible one or one that changes the text direction, whatever a server sends',
        `${attacks} > has no effect without a user to agree`,
        `${attacks} > has only the effects that the user approved`,
        'packages/app/test/terminal/attacks.test.ts > $name: spoofs nothing on the screen',
        `${pins} > a dangerous description is asked about before any use`,
        'packages/host/test/trust/scan.test.ts > in a parameter name are found: %s',
        'packages/host/test/trust/scan.test.ts > are always removed, at any position',
      ],
    },
    {
      title: 'Packages that become malicious',
      advisories: [
        reported(
          'postmark-mcp 1.0.16, September 2025',
          'a release sent a copy of every mail to its author',
          'postmark-mcp incident',
        ),
        reported('registries', 'nine of eleven took packages made for a test', 'OX Security, 2026'),
      ],
      here: 'Only one exact version, or one digest, is installed, and the exact command is shown. A bundle must match its published hash. Definitions that a newer version changes require a new acceptance.',
      proof: [
        'packages/host/test/registry/registry.test.ts > rejects anything that may be another version tomorrow: %s %s %s',
        'packages/host/test/registry/registry.test.ts > is downloaded if it is exactly the published one',
        'packages/app/test/install/install.test.ts > is not installed without consent, and no other file is written',
      ],
    },
    {
      title: 'Exfiltration through combinations of tools',
      advisories: [
        reported(
          'Claude desktop extensions, February 2026',
          'a calendar entry had a tool run commands',
          'LayerX, 2026',
        ),
        reported('an AppleScript server, 2025', 'arguments of a tool became script', 'Koi Security'),
        reported(
          'official Slack server (archived)',
          'a posted link was fetched, and carried data out',
          'CVE-2025-34072',
        ),
      ],
      here: 'Servers can be labelled as sources of private data; a call into which labelled data could flow is asked about every time. Links and images in texts are never fetched.',
      proof: [
        `${policy} > is asked about every time, whatever grants a rule about the label allows`,
        'packages/host/test/agent/kept.test.ts > keeps labels only of data seen before it',
        'packages/app/test/forms/ask-url.test.ts > is given by the user: %s fetches and opens nothing here',
      ],
    },
    {
      title: 'Sampling without review',
      advisories: [
        reported(
          'hosts in general, 2025',
          'hidden requests used tokens, changed conversations and called tools',
          'Palo Alto Networks, Unit 42',
        ),
      ],
      here: 'Requests to the model and its responses are shown and can be edited; context is added only as shown; budgets limit requests, tokens and tool rounds; if no person can be asked and the configuration grants nothing, no model is called.',
      proof: [
        'packages/host/test/sampling/grants.test.ts > a request is a protocol error and reaches no model (%s)',
        'packages/host/test/sampling/limits.test.ts > reject the sixth request of a minute: no model is called, and server and log get the reason',
        'packages/host/test/sampling/context.test.ts > is shown to the user and not sent, unless they add it',
      ],
    },
  ],
}
