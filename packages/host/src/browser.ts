/**
 * What a page needs besides `@jackfield/host/client`: forms, texts with invisible characters, text comparison and token
 * estimates, as the host computes them. Needs no Node.
 */
export { AppBridge, type AppBridgeOptions, type AppDisplayMode, type AppHostContext } from './apps/bridge.ts'
export { appOf, isVisibleTo } from './apps/tool-app.ts'
export {
  type FormValues,
  finishForm,
  planForm,
  problemWithField,
  readTyped,
  reviewForm,
} from './core/forms/form.ts'
export { defaultResultCharacters, fitResult } from './models/fitted-result.ts'
export { estimateTokens } from './models/tool-search/meter.ts'
export { forModel } from './shared/audience.ts'
export { codeName, makeVisible, type Unseen, unseenIn } from './shared/visible.ts'
export { type DiffPiece, wordDiff } from './shared/word-diff.ts'
export type * from './types/index.ts'
