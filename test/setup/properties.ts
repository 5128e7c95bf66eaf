import fc from 'fast-check'
import { seed } from './seed.ts'

// What fails is named with this seed by fast-check itself.
fc.configureGlobal({ seed })
