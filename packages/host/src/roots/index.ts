export { checkRoots } from './open-folders.ts'
export { Roots, type RootsDeps } from './room.ts'
