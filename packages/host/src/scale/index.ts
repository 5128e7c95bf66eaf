export { type ModelTool, modelTool } from './model-tool.ts'
export { createScale } from './scale.ts'
export { estimateTokens } from './tokens.ts'
