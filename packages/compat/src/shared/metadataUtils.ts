/** The name to show for a tool, resource or prompt. */
import type { BaseMetadata } from '../types.ts'

/** The title, for tools else the title of the annotations, else the name. */
export function getDisplayName(
  metadata: BaseMetadata | (BaseMetadata & { annotations?: { title?: string } }),
): string {
  const annotated = 'annotations' in metadata ? metadata.annotations?.title : undefined
  return metadata.title || annotated || metadata.name
}
