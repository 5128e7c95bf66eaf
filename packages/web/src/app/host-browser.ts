// Pure functions of the host that run in a browser, from its sources until the host has an entry for browsers.
export {
  type FormValues,
  finishForm,
  planForm,
  problemWithField,
  readTyped,
  reviewForm,
} from '../../../host/src/core/forms/form.ts'
export { codeName, makeVisible, unseenIn } from '../../../host/src/shared/visible.ts'
export { type DiffPiece, wordDiff } from '../../../host/src/shared/word-diff.ts'
export type * from '../../../host/src/types/index.ts'
