// Package browser tests the console's page in Chromium, against `dpsql demo`. It is a module of its own, so that the program does not depend on what drives a browser.
package browser
