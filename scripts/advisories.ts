import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf } from '../test/advisories/page.ts'
import { classes } from '../test/advisories/rows/index.ts'
import { root } from './run.ts'

writeFileSync(join(root, 'docs/advisories.md'), pageOf(classes))
console.log('Wrote docs/advisories.md.')
