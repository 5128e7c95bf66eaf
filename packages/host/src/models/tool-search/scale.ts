import type { CatalogTool, Scale } from '../../types/index.ts'
import { createMeter } from './meter.ts'
import { ToolIndex } from './tool-index.ts'

/** Search and meter over the tools there are at the time. */
export function createScale(tools: () => readonly CatalogTool[]): Scale {
  const index = new ToolIndex()
  const meter = createMeter()
  return {
    meter: ({ contextTokens, isOn = () => true } = {}) => meter(tools().filter(isOn), contextTokens),
    search(query, options) {
      index.update(tools())
      return index.search(query, options)
    },
  }
}
