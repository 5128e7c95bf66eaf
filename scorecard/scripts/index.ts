import type { Script } from '../types.ts'
import { scripts as c01 } from './c01-any-server.ts'
import { scripts as c02 } from './c02-questions.ts'
import { scripts as c03 } from './c03-asked-before.ts'
import { scripts as c04 } from './c04-sampling.ts'
import { scripts as c05 } from './c05-forms.ts'
import { scripts as c06 } from './c06-folders.ts'
import { scripts as c07 } from './c07-resources.ts'
import { scripts as c08 } from './c08-prompts.ts'
import { scripts as c09 } from './c09-many-tools.ts'
import { scripts as c10 } from './c10-trust.ts'
import { scripts as c11 } from './c11-secrets.ts'
import { scripts as c12 } from './c12-looking-back.ts'
import { scripts as c13 } from './c13-program.ts'
import { scripts as c14 } from './c14-setup.ts'

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
  ...c14,
]
