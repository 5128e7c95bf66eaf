export { type AiModelOptions, aiModel } from './ai-model.ts'
export { type ModelEnvironment, modelsFromEnvironment } from './environment.ts'
export { ModelError, type ModelErrorKind } from './model-error.ts'
export { offlineModel } from './offline/model.ts'
