// Package cube makes cubes: all levels of a GROUP BY CUBE, released once, whose later questions are free. They lie beside
// the models (mlext.Cubes). Which question a cube answers is private.Run's to say.
package cube
