"""A window that lists the files of a folder, to be dragged out of it: python files_window.py FOLDER"""

import sys

from PyQt5 import QtWidgets

application = QtWidgets.QApplication(sys.argv)
model = QtWidgets.QFileSystemModel()
model.setRootPath(sys.argv[1])
view = QtWidgets.QListView()
view.setModel(model)
view.setRootIndex(model.index(sys.argv[1]))
view.setDragEnabled(True)
view.setStyleSheet("QListView::item { height: 60px }")
view.setSelectionMode(QtWidgets.QAbstractItemView.ExtendedSelection)
view.setWindowTitle("Files")
view.setGeometry(20, 600, 260, 300)
view.show()
application.exec_()
