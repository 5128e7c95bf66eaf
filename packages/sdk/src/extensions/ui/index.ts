export type { AppCsp } from './ui.ts'
export {
  type AppDefinition,
  type AppPermission,
  type AppValue,
  app,
  appMimeType,
  shownIn,
  showsApps,
  ui,
  uiExtension,
  type Visibility,
} from './ui.ts'
