import type { Script } from '../types.ts'
import { scripts as c01 } from './c01-connections.ts'
import { scripts as c02 } from './c02-elicitation.ts'
import { scripts as c03 } from './c03-approval.ts'
import { scripts as c04 } from './c04-sampling.ts'
import { scripts as c05 } from './c05-forms.ts'
import { scripts as c06 } from './c06-roots.ts'
import { scripts as c07 } from './c07-resources.ts'
import { scripts as c08 } from './c08-prompts.ts'
import { scripts as c09 } from './c09-tool-search.ts'
import { scripts as c10 } from './c10-trust.ts'
import { scripts as c11 } from './c11-secrets.ts'
import { scripts as c12 } from './c12-activity-log.ts'
import { scripts as c13 } from './c13-scripting.ts'
import { scripts as c14Configuration } from './c14-configuration.ts'
import { scripts as c14Gateway } from './c14-gateway.ts'

/** The capabilities that group the scripts, in the order of the page. */
export const capabilities: Readonly<Record<`C${number}`, string>> = {
  C1: 'Connections: every revision and transport',
  C2: 'Elicitation: answers now, later or from another process',
  C3: 'Approval and rules for tool calls',
  C4: 'Sampling: servers that use a language model',
  C5: 'Elicitation of forms and URLs',
  C6: 'Roots and file access',
  C7: 'Resources',
  C8: 'Prompts',
  C9: 'Large numbers of tools',
  C10: 'Trust in the definitions of servers',
  C11: 'Secrets and private data',
  C12: 'Activity log, recordings and exports',
  C13: 'Use in scripts and programs',
  C14: 'Configuration, diagnosis, gateway and registry',
}

/** All scripts, in the order of the page. */
export const scripts: readonly Script[] = [
  ...c01,
  ...c02,
  ...c03,
  ...c04,
  ...c05,
  ...c06,
  ...c07,
  ...c08,
  ...c09,
  ...c10,
  ...c11,
  ...c12,
  ...c13,
  ...c14Configuration,
  ...c14Gateway,
]
