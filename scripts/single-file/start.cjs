// Loaded from a file, so that import() reads files too: inside the executable it knows modules of Node only.
import('./node_modules/jackfield/bin/jackfield.js')
