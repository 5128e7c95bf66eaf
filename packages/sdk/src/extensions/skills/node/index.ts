export { type FolderOptions, skillsIn } from './folder.ts'
