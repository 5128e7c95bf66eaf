import { createContext, useContext } from 'react'

export const dockTabs = ['inbox', 'context', 'log'] as const
export type DockTab = (typeof dockTabs)[number]

export type DockSection = 'attach' | 'tools' | 'folders'

/** What is beside a screen: the waiting questions, what goes along with the conversation, and what happens. */
export interface Dock {
  readonly isOpen: boolean
  readonly tab: DockTab
  /** The part of the tab that is wanted. Another object with each focusRequest. */
  readonly focusRequest: { readonly section: DockSection } | undefined
  /** Opens a tab, or closes the dock where that tab is open. */
  toggle(tab?: DockTab): void
  show(tab: DockTab, section?: DockSection): void
  close(): void
}

const DockContext = createContext<Dock | undefined>(undefined)
export const DockProvider = DockContext

export function useDock(): Dock {
  const dock = useContext(DockContext)
  if (dock === undefined) throw new Error('There is no dock around this component')
  return dock
}
