export { type Catalog, createCatalog, type UseGate } from './catalog.ts'
export { exposedName } from './names.ts'
export { createShownCatalog, type ShownCatalog } from './shown.ts'
