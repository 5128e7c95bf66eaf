export type { AppCsp } from './app.ts'
export {
  type AppDefinition,
  type AppPermission,
  type AppValue,
  app,
  appMimeType,
  uiExtension,
} from './app.ts'
export { shownIn, showsApps, ui, type Visibility } from './ui.ts'
