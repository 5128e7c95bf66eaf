import type { CatalogTool, ModelRequest } from '../../types/index.ts'

/** A tool as a request to a model carries it. */
export type ModelTool = NonNullable<ModelRequest['tools']>[number]

/** A tool of the catalog in the form that models are given. */
export function modelTool({ name, tool }: CatalogTool): ModelTool {
  const title = tool.title ?? tool.annotations?.title
  const description = [title, tool.description].filter((part) => part !== undefined).join(': ')
  return { name, inputSchema: tool.inputSchema, ...(description !== '' && { description }) }
}
