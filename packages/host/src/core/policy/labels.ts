import type { LabelTable, SeenLabel } from '../../log/store/label-table.ts'

/** Which labelled data each conversation saw. */
export interface Labels {
  /** Notes that data of the server of this name with these labels was seen. */
  saw(conversation: string | undefined, server: string, labels: readonly string[]): void
  /** Labels of data from other servers than this one that was seen. */
  flowing(conversation: string | undefined, server: string): string[]
}

/** Outside conversations, everything that was seen since the host began counts. */
export function createLabels(table: LabelTable): Labels {
  const outside: SeenLabel[] = []
  return {
    saw(conversation, server, labels) {
      for (const label of labels) {
        if (conversation !== undefined) table.add(conversation, { label, server })
        else if (!outside.some((seen) => seen.label === label && seen.server === server)) {
          outside.push({ label, server })
        }
      }
    },
    flowing(conversation, server) {
      const seen = conversation === undefined ? outside : table.of(conversation)
      return [...new Set(seen.filter((one) => one.server !== server).map(({ label }) => label))].sort()
    },
  }
}
