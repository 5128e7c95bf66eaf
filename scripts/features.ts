import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf } from '../test/features/page.ts'
import { groups } from '../test/features/rows/index.ts'
import { root } from './run.ts'

writeFileSync(join(root, 'docs/features.md'), pageOf(groups))
console.log('Wrote docs/features.md.')
