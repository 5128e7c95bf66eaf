/**
 * What a page needs of the host beside `@jackfield/host/client`: forms, texts with unseen characters, comparison of texts and
 * the estimate of tokens, as the host itself computes them. Nothing here needs Node.
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
export { estimateTokens } from './models/tool-search/meter.ts'
export { codeName, makeVisible, type Unseen, unseenIn } from './shared/visible.ts'
export { type DiffPiece, wordDiff } from './shared/word-diff.ts'
export type * from './types/index.ts'
