import { webApp } from './app.ts'

export default webApp()
