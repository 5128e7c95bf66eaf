export { createLibrary } from './library.ts'
export { ResourceTexts } from './texts.ts'
